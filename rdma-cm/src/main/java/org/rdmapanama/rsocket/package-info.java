/**
 * Sockets over RDMA: what librdmacm calls rsockets, as channels of {@code java.nio.channels}.
 *
 * <p>{@link org.rdmapanama.rsocket.RSocketChannel} is a {@link java.nio.channels.SocketChannel},
 * {@link org.rdmapanama.rsocket.RServerSocketChannel} a {@link java.nio.channels.ServerSocketChannel}, and
 * {@link org.rdmapanama.rsocket.RSelector} a {@link java.nio.channels.Selector}: a program changes the lines that open
 * them. Both sides of a connection must be rsockets; the other one may be a C program that uses {@code rsocket.h}.
 *
 * <p>See rsocket(7).
 */
package org.rdmapanama.rsocket;
