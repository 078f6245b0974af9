/** What goes over the wire: packets of RoCEv2, their headers and checksums. */
package org.rdmapanama.soft.wire;
