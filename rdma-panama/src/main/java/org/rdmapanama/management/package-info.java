/** What a process does with RDMA, for programs that watch it through JMX. */
package org.rdmapanama.management;
