/** What RDMA is compared with: the ways to move data that a user of Java has today. */
package org.rdmapanama.samples.today;
