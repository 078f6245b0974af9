/** Addresses of ports and peers: GIDs, MAC addresses, paths, and the endpoints that two sides exchange. */
@NullMarked
package org.rdmapanama.address;

import org.jspecify.annotations.NullMarked;
