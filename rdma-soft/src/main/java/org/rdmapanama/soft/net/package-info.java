/**
 * The network of the software device: its UDP sockets, its addresses and those of its peers, and the IP headers that a
 * receiver of datagrams sees. It uses nothing of {@code org.rdmapanama.soft}.
 */
package org.rdmapanama.soft.net;
