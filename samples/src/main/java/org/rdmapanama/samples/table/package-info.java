/** {@code rdma table}: a hash table in the memory of a server, which clients read without asking it. */
package org.rdmapanama.samples.table;
