/**
 * The command {@code top}: what moves through the ports of this machine. {@link TopCommand} takes {@link Sample}s, of the kernel's
 * counters and of the JVMs that {@link WatchedJvms} finds, and {@link TopTable} prints what has changed between two of them.
 */
package org.rdmapanama.samples.top;
