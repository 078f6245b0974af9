/** Addresses of ports and peers: GIDs, MAC addresses, paths, and the endpoints that two sides exchange. */
package org.rdmapanama.address;
