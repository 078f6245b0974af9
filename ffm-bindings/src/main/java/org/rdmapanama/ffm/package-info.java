/**
 * Finds and loads the two C libraries of rdma-core, libibverbs and librdmacm, at run time.
 *
 * <p>The package {@code org.rdmapanama.ffm.verbs} beside it is jextract's rendering of their headers: structs,
 * constants and functions under their C names.
 */
package org.rdmapanama.ffm;
