package org.rdmapanama.bench.sockets;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.net.InetSocketAddress;
import java.util.function.Supplier;

/** A server that uses Netty, with one event loop. */
// A void promise tells the pipeline of failures.
@SuppressWarnings("FutureReturnValueIgnored")
final class NettyServer implements Server {
    private final EventLoopGroup group;
    private final Channel echo;
    private final Channel taker;

    NettyServer(Settings settings) throws InterruptedException {
        group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory(settings.provider()));
        echo = serve(settings, Echo::new);
        taker = serve(settings, () -> new Taker(settings));
    }

    private Channel serve(Settings settings, Supplier<ChannelHandler> handler) throws InterruptedException {
        return new ServerBootstrap()
                .group(group)
                .channelFactory(() -> new NioServerSocketChannel(settings.provider()))
                .option(ChannelOption.SO_RCVBUF, Settings.BUFFER)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childOption(ChannelOption.SO_SNDBUF, Settings.BUFFER)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(handler.get());
                    }
                })
                .bind(new InetSocketAddress(settings.host(), 0))
                .sync()
                .channel();
    }

    private static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            context.writeAndFlush(message, context.voidPromise());
        }
    }

    private static final class Taker extends ChannelInboundHandlerAdapter {
        private final long all;
        private long taken;

        Taker(Settings settings) {
            all = (long) settings.chunks() * settings.chunk();
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            ByteBuf bytes = (ByteBuf) message;
            taken += bytes.readableBytes();
            bytes.release();
            if (taken == all) {
                taken = 0;
                context.writeAndFlush(
                        context.alloc().directBuffer(Client.MESSAGE).writeZero(Client.MESSAGE));
            }
        }
    }

    private static int port(Channel channel) {
        return ((InetSocketAddress) channel.localAddress()).getPort();
    }

    @Override
    public int echoPort() {
        return port(echo);
    }

    @Override
    public int chunkPort() {
        return port(taker);
    }

    @Override
    public void close() {
        group.shutdownGracefully().syncUninterruptibly();
    }
}
