/** The functions of libefa. */
package org.rdmapanama.efa.internal;
