/**
 * The layout of the datagrams that set up and end connections.
 *
 * <p>All classes have static methods only, which read and write a datagram at an address and may be called from any
 * thread. The exchanges of the connection manager call them with the lock of the device held.
 */
package org.rdmapanama.soft.cm;
