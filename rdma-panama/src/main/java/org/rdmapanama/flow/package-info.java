/** Rules, filters, specifications, ESP options and counter descriptions for flow steering and counters. */
package org.rdmapanama.flow;
