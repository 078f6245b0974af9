package org.rdmapanama.bench.sockets;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.InetSocketAddress;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;

/**
 * A client that uses Netty, with one event loop, which does all the work: a batch of round trips is one command to it, so
 * that no thread waits for another in a round trip.
 */
// A void promise tells the pipeline of failures.
@SuppressWarnings("FutureReturnValueIgnored")
final class NettyClient implements Client {
    private static final long LIMIT_SECONDS = 120;

    private final ByteBuf message = Unpooled.directBuffer(MESSAGE).writeZero(MESSAGE);
    private final int chunks;
    private final ByteBuf chunk;
    private final SynchronousQueue<Boolean> done = new SynchronousQueue<>();
    private final EventLoopGroup group;
    private final Channel echo;
    private final Channel taker;

    /** Messages that are still to be sent after the one on the way. Used by the event loop alone. */
    private int rest;

    NettyClient(Settings settings, int echoPort, int chunkPort) throws InterruptedException {
        chunks = settings.chunks();
        chunk = Unpooled.directBuffer(settings.chunk()).writeZero(settings.chunk());
        group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory(settings.provider()));
        echo = connect(settings, echoPort);
        taker = connect(settings, chunkPort);
    }

    private Channel connect(Settings settings, int port) throws InterruptedException {
        return new Bootstrap()
                .group(group)
                .channelFactory(() -> new NioSocketChannel(settings.provider()))
                .option(ChannelOption.TCP_NODELAY, true)
                .option(ChannelOption.SO_SNDBUF, Settings.BUFFER)
                .option(ChannelOption.SO_RCVBUF, Settings.BUFFER)
                .handler(new Answers())
                .connect(new InetSocketAddress(settings.host(), port), new InetSocketAddress(settings.from(), 0))
                .sync()
                .channel();
    }

    /** Counts what comes back, and sends the next message. */
    private final class Answers extends SimpleChannelInboundHandler<ByteBuf> {
        private int missing = MESSAGE;

        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf bytes) throws Exception {
            missing -= bytes.readableBytes();
            if (missing > 0) {
                return;
            }
            missing = MESSAGE;
            if (rest > 0) {
                rest--;
                context.writeAndFlush(message.retainedDuplicate(), context.voidPromise());
            } else {
                done.put(true);
            }
        }
    }

    @Override
    public void pings(int count) throws InterruptedException {
        echo.eventLoop().execute(() -> {
            rest = count - 1;
            echo.writeAndFlush(message.retainedDuplicate(), echo.voidPromise());
        });
        await();
    }

    @Override
    public void push() throws InterruptedException {
        taker.eventLoop().execute(() -> {
            for (int i = 0; i < chunks; i++) {
                taker.write(chunk.retainedDuplicate(), taker.voidPromise());
            }
            taker.flush();
        });
        await();
    }

    private void await() throws InterruptedException {
        if (done.poll(LIMIT_SECONDS, TimeUnit.SECONDS) == null) {
            throw new IllegalStateException("the other end did not answer in " + LIMIT_SECONDS + " s");
        }
    }

    @Override
    public void close() {
        group.shutdownGracefully().syncUninterruptibly();
        message.release();
        chunk.release();
    }
}
