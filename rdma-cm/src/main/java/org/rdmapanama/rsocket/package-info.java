/**
 * Byte streams over RDMA: the rsockets of librdmacm as channels of {@code java.nio.channels}.
 *
 * <p>{@link org.rdmapanama.rsocket.RSocketChannel} is a {@link java.nio.channels.SocketChannel},
 * {@link org.rdmapanama.rsocket.RServerSocketChannel} a {@link java.nio.channels.ServerSocketChannel}, and
 * {@link org.rdmapanama.rsocket.RSelector} a {@link java.nio.channels.Selector}: a program only has to change
 * the lines that open them. Both sides of a connection must be rsockets; the peer may be a C program that uses
 * {@code rsocket.h}. rsockets need an RDMA device of the kernel; {@code soft0} does not support them.
 *
 * <p>See rsocket(7).
 */
package org.rdmapanama.rsocket;
