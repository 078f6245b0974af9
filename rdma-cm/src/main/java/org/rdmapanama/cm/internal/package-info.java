/** The native implementation of the connection manager: bindings to librdmacm, and their use. */
package org.rdmapanama.cm.internal;
