/**
 * What is said of queue pairs, work queues, shared receive queues and XRC domains: types, states, attributes, sizes, flags and
 * opcodes.
 */
package org.rdmapanama.queue;
