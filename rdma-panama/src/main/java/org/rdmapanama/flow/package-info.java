/** Rules, filters, specifications, ESP options and counter descriptions for flow steering and counters. */
@NullMarked
package org.rdmapanama.flow;

import org.jspecify.annotations.NullMarked;
