/**
 * What is said of queue pairs, work queues and shared receive queues: types, states, attributes, sizes and flags.
 */
package org.rdmapanama.queue;
