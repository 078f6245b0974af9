/**
 * Sockets over RDMA: channels, selectors and socket views of {@code java.nio.channels} that speak the protocol of librdmacm's
 * rsockets on queue pairs of this library, on every device with reliable connections, {@code soft0} included.
 *
 * <p>{@link org.rdmapanama.rsocket.RSocketChannel} is a {@link java.nio.channels.SocketChannel},
 * {@link org.rdmapanama.rsocket.RServerSocketChannel} a {@link java.nio.channels.ServerSocketChannel}, and
 * {@link org.rdmapanama.rsocket.RSelector} a {@link java.nio.channels.Selector}: a program only has to change the lines that
 * open them. {@link org.rdmapanama.rsocket.RSocketProvider} makes all of them for frameworks. The peer may be a C program that
 * uses rsockets.
 *
 * <p>See rsocket(7).
 */
@NullMarked
package org.rdmapanama.rsocket;

import org.jspecify.annotations.NullMarked;
