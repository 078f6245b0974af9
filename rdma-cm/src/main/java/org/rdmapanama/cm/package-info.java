/** Connections by address, as librdmacm makes them. */
package org.rdmapanama.cm;
