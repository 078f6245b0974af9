/**
 * The line between the classes that programs use and whatever implements verbs and the connection manager below them.
 *
 * <p>Above the line are {@code org.rdmapanama} and {@code org.rdmapanama.cm}. Below it is libibverbs with librdmacm, or a
 * software device that behaves like them. C structures of {@code verbs.h} and {@code rdma_cma.h} cross the line, by
 * address. There is one convention for results: zero or a positive value is success, and a negative value is a negated
 * errno. A call across the line does not depend on the implementation.
 */
package org.rdmapanama.internal.provider;
