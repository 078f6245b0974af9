/**
 * What is said of queue pairs, work queues and shared receive queues: types, states, attributes, sizes, flags and
 * opcodes.
 */
package org.rdmapanama.queue;
