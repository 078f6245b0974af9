/** Lends files to other processes, and reads theirs, by RDMA READ. Knows nothing of Spark. */
package org.rdmapanama.spark.transfer;
