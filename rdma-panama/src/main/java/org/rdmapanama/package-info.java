/** RDMA verbs: devices, protection domains, memory regions, queue pairs and completion queues. */
package org.rdmapanama;
