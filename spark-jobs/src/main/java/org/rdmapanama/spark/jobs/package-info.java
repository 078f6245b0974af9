/** Jobs of Apache Spark, which run with its own shuffle and by RDMA. */
package org.rdmapanama.spark.jobs;
