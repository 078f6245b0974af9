package org.rdmapanama.frameworks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.channels.spi.SelectorProvider;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What programs do with gRPC, on the channels of a provider. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class GrpcContract {
    private static final int SECONDS = 60;
    private static final int LARGE = 1 << 20;
    private static final int MESSAGES = 1000;

    private static final MethodDescriptor.Marshaller<String> TEXT = new Text();
    static final MethodDescriptor<String, String> UNARY = method("unary", MethodType.UNARY);
    private static final MethodDescriptor<String, String> COUNT = method("count", MethodType.CLIENT_STREAMING);
    private static final MethodDescriptor<String, String> REPEAT = method("repeat", MethodType.SERVER_STREAMING);
    private static final MethodDescriptor<String, String> CHAT = method("chat", MethodType.BIDI_STREAMING);
    private static final MethodDescriptor<String, String> NEVER = method("never", MethodType.UNARY);
    private static final MethodDescriptor<String, String> FAIL = method("fail", MethodType.UNARY);

    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory(provider()));
    private final CountDownLatch cancelled = new CountDownLatch(1);
    private Server server;
    private ManagedChannel channel;

    abstract SelectorProvider provider();

    /** A free address to listen at. */
    abstract InetSocketAddress address();

    private static final class Text implements MethodDescriptor.Marshaller<String> {
        @Override
        public InputStream stream(String value) {
            return new ByteArrayInputStream(value.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public String parse(InputStream stream) {
            try {
                return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static MethodDescriptor<String, String> method(String name, MethodType type) {
        return MethodDescriptor.<String, String>newBuilder()
                .setType(type)
                .setFullMethodName(MethodDescriptor.generateFullMethodName("Test", name))
                .setRequestMarshaller(TEXT)
                .setResponseMarshaller(TEXT)
                .build();
    }

    private ServerServiceDefinition service() {
        return ServerServiceDefinition.builder("Test")
                .addMethod(UNARY, ServerCalls.asyncUnaryCall((request, response) -> {
                    response.onNext(request);
                    response.onCompleted();
                }))
                .addMethod(COUNT, ServerCalls.asyncClientStreamingCall(Counter::new))
                .addMethod(REPEAT, ServerCalls.asyncServerStreamingCall((request, response) -> {
                    for (int i = 0; i < MESSAGES; i++) {
                        response.onNext(request + i);
                    }
                    response.onCompleted();
                }))
                .addMethod(CHAT, ServerCalls.asyncBidiStreamingCall(Answers::new))
                .addMethod(
                        NEVER,
                        ServerCalls.asyncUnaryCall((request, response) ->
                                ((ServerCallStreamObserver<String>) response).setOnCancelHandler(cancelled::countDown)))
                .addMethod(
                        FAIL,
                        ServerCalls.asyncUnaryCall((request, response) -> response.onError(
                                Status.NOT_FOUND.withDescription(request).asRuntimeException())))
                .build();
    }

    /** Counts the characters of all messages. */
    private static final class Counter implements StreamObserver<String> {
        private final StreamObserver<String> response;
        private long sum;

        Counter(StreamObserver<String> response) {
            this.response = response;
        }

        @Override
        public void onNext(String value) {
            sum += value.length();
        }

        @Override
        public void onError(Throwable cause) {
            // The client is gone.
        }

        @Override
        public void onCompleted() {
            response.onNext(Long.toString(sum));
            response.onCompleted();
        }
    }

    /** Answers each message at once. */
    private static final class Answers implements StreamObserver<String> {
        private final StreamObserver<String> response;

        Answers(StreamObserver<String> response) {
            this.response = response;
        }

        @Override
        public void onNext(String value) {
            response.onNext("re: " + value);
        }

        @Override
        public void onError(Throwable cause) {
            // The client is gone.
        }

        @Override
        public void onCompleted() {
            response.onCompleted();
        }
    }

    @BeforeEach
    void setUp() throws Exception {
        server = NettyServerBuilder.forAddress(address())
                .bossEventLoopGroup(group)
                .workerEventLoopGroup(group)
                .channelFactory(() -> new NioServerSocketChannel(provider()))
                .addService(service())
                .build()
                .start();
        channel = NettyChannelBuilder.forAddress(
                        (InetSocketAddress) server.getListenSockets().getFirst())
                .eventLoopGroup(group)
                .channelFactory(() -> new NioSocketChannel(provider()))
                .usePlaintext()
                .build();
    }

    @AfterEach
    void tearDown() throws Exception {
        channel.shutdownNow();
        server.shutdown();
        assertTrue(channel.awaitTermination(SECONDS, TimeUnit.SECONDS));
        assertTrue(server.awaitTermination(SECONDS, TimeUnit.SECONDS));
        Groups.shutDown(group);
    }

    private static CallOptions limited() {
        return CallOptions.DEFAULT.withDeadlineAfter(SECONDS, TimeUnit.SECONDS);
    }

    private String call(MethodDescriptor<String, String> method, String request) {
        return ClientCalls.blockingUnaryCall(channel, method, limited(), request);
    }

    @Test
    void shouldCall() {
        for (int i = 0; i < MESSAGES; i++) {
            assertEquals("hello " + i, call(UNARY, "hello " + i));
        }
        String large = "x".repeat(LARGE);
        assertEquals(large, call(UNARY, large));
    }

    /** Collects what a server sends. */
    private static final class Collected implements StreamObserver<String> {
        private final List<String> all = new ArrayList<>();
        private final CompletableFuture<List<String>> result = new CompletableFuture<>();

        @Override
        public void onNext(String value) {
            all.add(value);
        }

        @Override
        public void onError(Throwable cause) {
            result.completeExceptionally(cause);
        }

        @Override
        public void onCompleted() {
            result.complete(all);
        }

        List<String> get() throws Exception {
            return result.get(SECONDS, TimeUnit.SECONDS);
        }
    }

    @Test
    void shouldStreamToTheServer() throws Exception {
        Collected collected = new Collected();
        StreamObserver<String> requests =
                ClientCalls.asyncClientStreamingCall(channel.newCall(COUNT, limited()), collected);
        for (int i = 0; i < MESSAGES; i++) {
            requests.onNext("x".repeat(i));
        }
        requests.onCompleted();
        assertEquals(List.of(Long.toString(MESSAGES * (MESSAGES - 1L) / 2)), collected.get());
    }

    @Test
    void shouldStreamToTheClient() {
        Iterator<String> responses = ClientCalls.blockingServerStreamingCall(channel, REPEAT, limited(), "no. ");
        for (int i = 0; i < MESSAGES; i++) {
            assertEquals("no. " + i, responses.next());
        }
        assertTrue(!responses.hasNext());
    }

    @Test
    void shouldStreamBothWays() throws Exception {
        Collected collected = new Collected();
        StreamObserver<String> requests =
                ClientCalls.asyncBidiStreamingCall(channel.newCall(CHAT, limited()), collected);
        for (int i = 0; i < MESSAGES; i++) {
            requests.onNext("message " + i);
        }
        requests.onCompleted();
        List<String> answers = collected.get();
        assertEquals(MESSAGES, answers.size());
        assertEquals("re: message " + (MESSAGES - 1), answers.getLast());
    }

    @Test
    void shouldCancel() throws Exception {
        var call = ClientCalls.futureUnaryCall(channel.newCall(NEVER, limited()), "never mind");
        assertEquals("still there", call(UNARY, "still there"));
        assertTrue(call.cancel(true));
        assertTrue(cancelled.await(SECONDS, TimeUnit.SECONDS), "the server learns of it");
        assertEquals("again", call(UNARY, "again"));
    }

    @Test
    void shouldEndAtTheDeadline() throws Exception {
        CallOptions shortly = CallOptions.DEFAULT.withDeadlineAfter(1, TimeUnit.SECONDS);
        assertEquals("connected", call(UNARY, "connected"));
        StatusRuntimeException late = assertThrows(
                StatusRuntimeException.class, () -> ClientCalls.blockingUnaryCall(channel, NEVER, shortly, "too late"));
        assertEquals(Status.Code.DEADLINE_EXCEEDED, late.getStatus().getCode());
        assertTrue(cancelled.await(SECONDS, TimeUnit.SECONDS), "the server learns of it");
    }

    @Test
    void shouldTellFailures() {
        StatusRuntimeException failure = assertThrows(StatusRuntimeException.class, () -> call(FAIL, "nothing"));
        assertEquals(Status.Code.NOT_FOUND, failure.getStatus().getCode());
        assertEquals("nothing", failure.getStatus().getDescription());
    }

    /** The client goes on with a new connection, as soon as there is a server again. */
    @Test
    void shouldTellThatTheServerIsGone() throws Exception {
        assertEquals("there", call(UNARY, "there"));
        server.shutdownNow();
        assertTrue(server.awaitTermination(SECONDS, TimeUnit.SECONDS));
        StatusRuntimeException gone = assertThrows(StatusRuntimeException.class, () -> call(UNARY, "gone"));
        assertEquals(Status.Code.UNAVAILABLE, gone.getStatus().getCode());
    }
}
