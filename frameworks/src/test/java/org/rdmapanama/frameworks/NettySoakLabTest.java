package org.rdmapanama.frameworks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.rsocket.RSocketProvider;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.LiveHeap;

/**
 * Many messages through Netty, on connections that come and go, after which there is as much memory and as many native objects as before. The system
 * property soak.messages says how many there are; ten million take minutes.
 */
@Tag("lab")
@Timeout(value = 3600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("FutureReturnValueIgnored") // what fails to be written does not come back
class NettySoakLabTest {
    private static final int MESSAGES = Integer.getInteger("soak.messages", 100_000);
    private static final int MESSAGES_OF_A_CONNECTION = 5000;
    private static final int IN_FLIGHT = 50;
    private static final int BYTES = 100;
    private static final long MEBIBYTE = 1 << 20;
    private static final long HEAP_GROWTH = 8 * MEBIBYTE;
    private static final long MINUTES = 2;

    private final EventLoopGroup group =
            new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory(RSocketProvider.instance()));

    private static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            context.write(message, context.voidPromise());
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext context) {
            context.flush();
        }
    }

    /** Keeps some messages on their way, each filled with the low byte of its number, until all have come back. */
    private static final class Sender extends SimpleChannelInboundHandler<ByteBuf> {
        private final CountDownLatch done = new CountDownLatch(1);
        private final int messages;
        private int sent;
        private long received;
        private volatile String wrong = "";

        Sender(int messages) {
            this.messages = messages;
        }

        @Override
        public void channelActive(ChannelHandlerContext context) {
            send(context);
        }

        private void send(ChannelHandlerContext context) {
            while (sent < messages && sent - received / BYTES < IN_FLIGHT) {
                ByteBuf message = context.alloc().directBuffer(BYTES);
                for (int i = 0; i < BYTES; i++) {
                    message.writeByte(sent);
                }
                sent++;
                context.write(message, context.voidPromise());
            }
            context.flush();
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf data) {
            while (data.isReadable()) {
                byte expected = (byte) (received / BYTES);
                if (data.readByte() != expected) {
                    wrong = "byte " + received + " should be " + expected;
                }
                received++;
            }
            if (received == (long) messages * BYTES) {
                done.countDown();
            } else {
                send(context);
            }
        }
    }

    private void exchange(Channel server, int messages) throws Exception {
        for (int left = messages; left > 0; left -= MESSAGES_OF_A_CONNECTION) {
            Sender sender = new Sender(Math.min(left, MESSAGES_OF_A_CONNECTION));
            Channel client = new Bootstrap()
                    .group(group)
                    .channelFactory(() -> new NioSocketChannel(RSocketProvider.instance()))
                    .handler(sender)
                    .connect(server.localAddress())
                    .sync()
                    .channel();
            assertTrue(sender.done.await(MINUTES, TimeUnit.MINUTES), () -> "came back: " + sender.received);
            assertEquals("", sender.wrong);
            client.close().sync();
        }
    }

    /** Direct buffers, and the memory of Netty's pools. */
    private static long buffers() {
        return PooledByteBufAllocator.DEFAULT.metric().usedDirectMemory()
                + ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                        .mapToLong(BufferPoolMXBean::getMemoryUsed)
                        .sum();
    }

    @Test
    void shouldCarryManyMessages() throws Exception {
        List<String> objects = Lab.resources();
        Channel server = new ServerBootstrap()
                .group(group)
                .channelFactory(() -> new NioServerSocketChannel(RSocketProvider.instance()))
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new Echo());
                    }
                })
                .bind(Lab.freeAddress(Lab.SECOND_HOST))
                .sync()
                .channel();
        exchange(server, Math.min(MESSAGES / 2, 100_000));
        long heap = LiveHeap.bytes();
        long buffers = buffers();
        exchange(server, MESSAGES);
        long heapGrowth = LiveHeap.bytes() - heap;
        long bufferGrowth = buffers() - buffers;
        server.close().sync();
        Groups.shutDown(group);
        Lab.assertNothingLeft(objects);
        assertTrue(heapGrowth < HEAP_GROWTH, () -> "the heap has grown by " + heapGrowth + " bytes");
        assertTrue(bufferGrowth < HEAP_GROWTH, () -> "buffers have grown by " + bufferGrowth + " bytes");
        System.out.println(MESSAGES + " messages: heap " + heapGrowth + ", buffers " + bufferGrowth + " bytes");
    }
}
