package org.rdmapanama.frameworks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundInvoker;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.Attribute;
import io.netty.util.AttributeKey;
import io.netty.util.ResourceLeakDetector;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What programs do with Netty, on the channels of a provider. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("FutureReturnValueIgnored") // what fails to be written does not come back
abstract class NettyContract {
    private static final int LARGE = 1 << 20;
    private static final int SECONDS = 60;
    private static final int CHUNK = 10_000;

    /** That of other tests in this JVM: to watch each buffer takes them ten times as long. */
    private final ResourceLeakDetector.Level usualLevel = ResourceLeakDetector.getLevel();

    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory(provider()));

    abstract SelectorProvider provider();

    /** A free address to listen at. */
    abstract InetSocketAddress address();

    @BeforeEach
    void watchEachBuffer() {
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.PARANOID);
    }

    @AfterEach
    void shutDown() throws Exception {
        try {
            Groups.shutDown(group);
        } finally {
            ResourceLeakDetector.setLevel(usualLevel);
        }
    }

    private Channel listen(ChannelHandler... handlers) throws InterruptedException {
        return listen(LARGE, handlers);
    }

    private Channel listen(int backlog, ChannelHandler... handlers) throws InterruptedException {
        return new ServerBootstrap()
                .group(group)
                .channelFactory(() -> new NioServerSocketChannel(provider()))
                .option(ChannelOption.SO_BACKLOG, backlog)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
                .childHandler(initializer(handlers))
                .bind(address())
                .sync()
                .channel();
    }

    /** Handlers that are sharable, or made anew by a subclass of this. */
    private static ChannelInitializer<SocketChannel> initializer(ChannelHandler... handlers) {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(SocketChannel channel) {
                channel.pipeline().addLast(handlers);
            }
        };
    }

    private Bootstrap client(ChannelHandler handler) {
        return new Bootstrap()
                .group(group)
                .channelFactory(() -> new NioSocketChannel(provider()))
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, SECONDS * 1000)
                .handler(handler);
    }

    private Channel connect(Channel server, ChannelHandler handler) throws InterruptedException {
        return client(handler).connect(server.localAddress()).sync().channel();
    }

    private static byte[] data(int size) {
        byte[] data = new byte[size];
        new Random(size).nextBytes(data);
        return data;
    }

    /** Sends back what comes, also after the peer has ended its side. */
    @ChannelHandler.Sharable
    private static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            context.write(message);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext context) {
            context.flush();
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext context, Object event) {
            if (event == ChannelInputShutdownEvent.INSTANCE) {
                context.writeAndFlush(Unpooled.EMPTY_BUFFER)
                        .addListener(done -> ((SocketChannel) context.channel()).shutdownOutput());
            }
        }
    }

    /** Collects what comes until the stream ends, or a number of bytes has come. */
    private static final class Collector extends SimpleChannelInboundHandler<ByteBuf> {
        private final ByteBuf all = Unpooled.buffer();
        private final int wanted;
        private final CompletableFuture<byte[]> result = new CompletableFuture<>();

        Collector(int wanted) {
            this.wanted = wanted;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf message) {
            all.writeBytes(message);
            if (all.readableBytes() >= wanted) {
                result.complete(ByteBufUtil.getBytes(all));
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            result.complete(ByteBufUtil.getBytes(all));
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            result.completeExceptionally(cause);
        }

        byte[] get() throws Exception {
            return result.get(SECONDS, TimeUnit.SECONDS);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 64, 4097, 100_000, LARGE})
    void shouldEcho(int size) throws Exception {
        Channel server = listen(new Echo());
        List<Collector> collectors = new ArrayList<>();
        List<Channel> clients = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Collector collector = new Collector(size);
            collectors.add(collector);
            Channel client = connect(server, collector);
            clients.add(client);
            client.writeAndFlush(Unpooled.wrappedBuffer(data(size)));
        }
        for (Collector each : collectors) {
            assertTrue(Arrays.equals(data(size), each.get()));
        }
        for (Channel each : clients) {
            assertTrue(each.close().await(SECONDS, TimeUnit.SECONDS));
        }
        server.close().sync();
    }

    /** More buffers than one gathering write takes. */
    @Test
    void shouldGather() throws Exception {
        Channel server = listen(new Echo());
        Collector collector = new Collector(3000 * 100);
        Channel client = connect(server, collector);
        ByteBuf sent = Unpooled.buffer();
        for (int i = 0; i < 3000; i++) {
            byte[] piece = data(100);
            piece[0] = (byte) i;
            sent.writeBytes(piece);
            client.write(Unpooled.wrappedBuffer(piece));
        }
        client.flush();
        assertTrue(Arrays.equals(ByteBufUtil.getBytes(sent), collector.get()));
        client.close().sync();
    }

    @Test
    void shouldEndOneDirectionAfterTheOther() throws Exception {
        Channel server = listen(new Echo());
        Collector collector = new Collector(Integer.MAX_VALUE);
        Channel client = connect(server, collector);
        client.writeAndFlush(Unpooled.wrappedBuffer(data(LARGE))).sync();
        ((SocketChannel) client).shutdownOutput().sync();
        assertTrue(Arrays.equals(data(LARGE), collector.get()));
        assertTrue(client.closeFuture().await(SECONDS, TimeUnit.SECONDS));
    }

    @Test
    void shouldTellThatNobodyListens() throws Exception {
        ChannelFuture connecting = client(new Collector(1)).connect(address()).awaitUninterruptibly();
        assertFalse(connecting.isSuccess());
        assertInstanceOf(ConnectException.class, connecting.cause());
    }

    @Test
    void shouldTellThatThePeerHasClosed() throws Exception {
        BlockingQueue<Channel> accepted = new LinkedBlockingQueue<>();
        Channel server = listen(new ActiveQueue(accepted));
        Channel client = connect(server, new Collector(1));
        accepted.take().close().sync();
        assertTrue(client.closeFuture().await(SECONDS, TimeUnit.SECONDS));
    }

    @ChannelHandler.Sharable
    private static final class ActiveQueue extends ChannelInboundHandlerAdapter {
        private final BlockingQueue<Channel> channels;

        ActiveQueue(BlockingQueue<Channel> channels) {
            this.channels = channels;
        }

        @Override
        public void channelActive(ChannelHandlerContext context) {
            channels.add(context.channel());
        }
    }

    @Test
    void shouldNotSendToAPeerThatDoesNotRead() throws Exception {
        BlockingQueue<Channel> accepted = new LinkedBlockingQueue<>();
        Channel server = listen(new ActiveQueue(accepted));
        Collector lazy = new Collector(64 * LARGE);
        Channel client = client(lazy)
                .option(ChannelOption.AUTO_READ, false)
                .connect(server.localAddress())
                .sync()
                .channel();
        Channel writer = accepted.take();
        byte[] piece = data(LARGE);
        for (int i = 0; i < 64; i++) {
            writer.writeAndFlush(Unpooled.wrappedBuffer(piece));
        }
        Channel echo = listen(new Echo());
        Collector other = new Collector(LARGE);
        Channel busy = connect(echo, other);
        busy.writeAndFlush(Unpooled.wrappedBuffer(piece));
        assertTrue(Arrays.equals(piece, other.get()), "another channel is undisturbed");
        assertFalse(writer.isWritable());
        client.config().setAutoRead(true);
        assertEquals(64 * LARGE, lazy.get().length);
        busy.close().sync();
        client.close().sync();
    }

    /** A server of HTTP/1.1 that sends back the body of each request, in chunks if the path says so, and how the request came. */
    private Channel serveHttp() throws InterruptedException {
        return new ServerBootstrap()
                .group(group)
                .channelFactory(() -> new NioServerSocketChannel(provider()))
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline()
                                .addLast(
                                        new HttpServerCodec(),
                                        new RequestKind(),
                                        new HttpObjectAggregator(4 * LARGE),
                                        new HttpEcho());
                    }
                })
                .bind(address())
                .sync()
                .channel();
    }

    /** Notes how each request has come, before it is aggregated. */
    private static final class RequestKind extends ChannelInboundHandlerAdapter {
        static final String ANSWER = "x-request-came";
        static final AttributeKey<Queue<String>> KEY = AttributeKey.valueOf("kinds");

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            if (message instanceof HttpRequest request) {
                Attribute<Queue<String>> kinds = context.channel().attr(KEY);
                kinds.setIfAbsent(new ArrayDeque<>());
                kinds.get()
                        .add(
                                HttpUtil.isTransferEncodingChunked(request)
                                        ? "chunked"
                                        : request.headers().get(HttpHeaderNames.CONTENT_LENGTH));
            }
            context.fireChannelRead(message);
        }
    }

    /** In pieces of {@link #CHUNK} bytes, of which a large body has many. */
    private static void writeChunked(ChannelOutboundInvoker to, HttpMessage head, ByteBuf body) {
        HttpUtil.setTransferEncodingChunked(head, true);
        to.write(head);
        while (body.readableBytes() > CHUNK) {
            to.writeAndFlush(new DefaultHttpContent(body.readRetainedSlice(CHUNK)));
        }
        to.writeAndFlush(new DefaultLastHttpContent(body));
    }

    private static final class HttpEcho extends SimpleChannelInboundHandler<FullHttpRequest> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            DefaultHttpResponse head = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
            head.headers()
                    .set(
                            RequestKind.ANSWER,
                            context.channel().attr(RequestKind.KEY).get().remove());
            ByteBuf body = request.content().retain();
            if (request.uri().equals("/chunked")) {
                writeChunked(context, head, body);
            } else {
                HttpUtil.setContentLength(head, body.readableBytes());
                context.write(head);
                context.writeAndFlush(new DefaultLastHttpContent(body));
            }
        }
    }

    private static final class Responses extends SimpleChannelInboundHandler<FullHttpResponse> {
        private final BlockingQueue<byte[]> bodies = new LinkedBlockingQueue<>();

        /** How the server has seen the requests: chunked, or of which length. */
        private final Queue<String> requests = new ConcurrentLinkedQueue<>();

        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpResponse response) {
            requests.add(response.headers().get(RequestKind.ANSWER));
            bodies.add(ByteBufUtil.getBytes(response.content()));
        }
    }

    @ParameterizedTest
    @CsvSource({"/whole, false", "/whole, true", "/chunked, false", "/chunked, true"})
    void shouldSpeakHttp(String path, boolean chunkedRequest) throws Exception {
        Channel server = serveHttp();
        Responses responses = new Responses();
        Channel client = connect(server, new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new HttpClientCodec(), new HttpObjectAggregator(4 * LARGE), responses);
            }
        });
        // Kept alive and pipelined.
        int[] sizes = {0, 1, 9999, 10_000, LARGE};
        for (int size : sizes) {
            ByteBuf body = Unpooled.wrappedBuffer(data(size));
            DefaultHttpRequest head = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, path);
            head.headers().set(HttpHeaderNames.HOST, "localhost");
            if (chunkedRequest) {
                writeChunked(client, head, body);
            } else {
                HttpUtil.setContentLength(head, size);
                client.write(head);
                client.writeAndFlush(new DefaultLastHttpContent(body));
            }
        }
        for (int size : sizes) {
            assertTrue(Arrays.equals(data(size), responses.bodies.poll(SECONDS, TimeUnit.SECONDS)), "body of " + size);
            assertEquals(chunkedRequest ? "chunked" : Integer.toString(size), responses.requests.poll());
        }
        client.close().sync();
        server.close().sync();
    }

    /** Smaller buffers than the default, because a thousand connections have four thousand of them. */
    @Test
    void shouldServeAThousandConnections() throws Exception {
        int connections = connections();
        AtomicLong echoed = new AtomicLong();
        CompletableFuture<Void> all = new CompletableFuture<>();
        Channel server = new ServerBootstrap()
                .group(group)
                .channelFactory(() -> new NioServerSocketChannel(provider()))
                .option(ChannelOption.SO_BACKLOG, connections)
                .option(ChannelOption.SO_RCVBUF, 8192)
                .childHandler(initializer(new Echo()))
                .bind(address())
                .sync()
                .channel();
        List<Channel> clients = new ArrayList<>();
        for (int i = 0; i < connections; i++) {
            clients.add(client(new SimpleChannelInboundHandler<ByteBuf>() {
                        @Override
                        protected void channelRead0(ChannelHandlerContext context, ByteBuf message) {
                            if (echoed.addAndGet(message.readableBytes()) == 10L * connections) {
                                all.complete(null);
                            }
                        }
                    })
                    .option(ChannelOption.SO_RCVBUF, 8192)
                    .option(ChannelOption.SO_SNDBUF, 8192)
                    .connect(server.localAddress())
                    .sync()
                    .channel());
        }
        for (int i = 0; i < 10; i++) {
            for (Channel each : clients) {
                each.writeAndFlush(Unpooled.wrappedBuffer(new byte[] {(byte) i}));
            }
        }
        all.get(SECONDS, TimeUnit.SECONDS);
        for (Channel each : clients) {
            each.close();
        }
        for (Channel each : clients) {
            assertTrue(each.closeFuture().await(SECONDS, TimeUnit.SECONDS));
        }
        server.close().sync();
    }

    int connections() {
        return Integer.getInteger("netty.connections", 1000);
    }
}
