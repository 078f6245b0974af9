/** What a process does with RDMA, for programs that watch it through JMX. */
@NullMarked
package org.rdmapanama.management;

import org.jspecify.annotations.NullMarked;
