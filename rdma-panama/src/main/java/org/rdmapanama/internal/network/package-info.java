/** The network of this machine, and the choice of a GID by it. Not exported. */
package org.rdmapanama.internal.network;
