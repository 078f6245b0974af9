/** The native side of the connection manager: functions of librdmacm and of the C library. */
package org.rdmapanama.cm.internal;
