package org.rdmapanama.frameworks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.InetSocketAddress;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.rsocket.RSocketChannel;
import org.rdmapanama.rsocket.RSocketProvider;
import org.rdmapanama.testing.Lab;

/** The lines of README.md and docs/SOCKETS.md that move servers of Netty and gRPC compile and work as they stand. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("FutureReturnValueIgnored") // what fails to be written does not come back
class ReadmeSocketsLabTest {
    private static final String TEXT = "hello, frameworks";
    private static final int SECONDS = 60;
    private static final String INDENT = "    ";

    @TempDir
    private static Path folder;

    private final InetSocketAddress address = Lab.freeAddress(Lab.SECOND_HOST);
    private EventLoopGroup group;

    @BeforeAll
    static void shouldCompileTheLines() throws Exception {
        List<String> arguments = new ArrayList<>(List.of("-cp", System.getProperty("java.class.path")));
        for (String document : List.of("README.md", "docs/SOCKETS.md")) {
            Path source = folder.resolve(className(document) + ".java");
            Files.writeString(source, program(document));
            arguments.add(source.toString());
        }
        int errors = ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments.toArray(String[]::new));
        assertEquals(0, errors, "the lines compile");
    }

    private static String className(String document) {
        return document.endsWith("README.md") ? "Readme" : "Sockets";
    }

    /** A class that returns what the lines make: first the group, then the servers and clients in their order. */
    private static String program(String document) throws Exception {
        List<String> lines = lines(document);
        return """
                import io.grpc.netty.*;
                import io.netty.bootstrap.*;
                import io.netty.channel.*;
                import io.netty.channel.nio.*;
                import io.netty.channel.socket.nio.*;
                import java.net.InetSocketAddress;
                import java.nio.channels.spi.SelectorProvider;
                import java.util.List;
                import org.rdmapanama.rsocket.*;
                public class %s {
                    public static List<?> make(InetSocketAddress address) {
                %s
                        return List.of(group%s);
                    }
                }
                """.formatted(
                        className(document),
                        lines.stream().filter(ReadmeSocketsLabTest::isStatement).collect(Collectors.joining("\n")),
                        lines.stream()
                                .filter(Predicate.not(ReadmeSocketsLabTest::isStatement))
                                .map(line -> line.startsWith(".") ? line : ",\n" + line)
                                .collect(Collectors.joining("\n")));
    }

    private static boolean isStatement(String line) {
        return line.endsWith(";");
    }

    /** Those of the indented paragraphs that name a factory of channels, without comments. */
    private static List<String> lines(String document) throws Exception {
        return Pattern.compile("\n\n")
                .splitAsStream(Files.readString(Path.of(document)))
                .filter(each -> each.startsWith(INDENT) && each.contains("channelFactory("))
                .flatMap(String::lines)
                .map(line -> line.replaceFirst("//.*", "").strip())
                .toList();
    }

    private List<?> made(String document) throws Exception {
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            List<?> made = (List<?>) loader.loadClass(className(document))
                    .getMethod("make", InetSocketAddress.class)
                    .invoke(null, address);
            group = (EventLoopGroup) made.getFirst();
            assertEquals(3, made.size(), "the lines make a group and two more things");
            return made;
        }
    }

    @AfterEach
    void shutDown() throws Exception {
        Groups.shutDown(group);
    }

    /** Sends back what comes. */
    @ChannelHandler.Sharable
    private static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            context.writeAndFlush(message);
        }
    }

    /** Collects a text. */
    private static final class Collector extends SimpleChannelInboundHandler<ByteBuf> {
        private final StringBuilder all = new StringBuilder();
        private final CompletableFuture<String> text = new CompletableFuture<>();

        @Override
        protected void channelRead0(ChannelHandlerContext context, ByteBuf message) {
            all.append(message.toString(StandardCharsets.UTF_8));
            if (all.length() >= TEXT.length()) {
                text.complete(all.toString());
            }
        }
    }

    private void serve(Object server) throws InterruptedException {
        assertInstanceOf(ServerBootstrap.class, server)
                .childHandler(new Echo())
                .bind(address)
                .sync();
    }

    @Test
    void shouldMoveANettyServer() throws Exception {
        serve(made("README.md").get(1));
        try (RSocketChannel client = RSocketChannel.open(address)) {
            client.write(ByteBuffer.wrap(TEXT.getBytes(StandardCharsets.UTF_8)));
            ByteBuffer answer = ByteBuffer.allocate(TEXT.length());
            while (answer.hasRemaining() && client.read(answer) >= 0) {
                // More.
            }
            assertEquals(TEXT, new String(answer.array(), StandardCharsets.UTF_8));
        }
    }

    @Test
    void shouldMoveANettyServerAndItsClient() throws Exception {
        List<?> made = made("docs/SOCKETS.md");
        serve(made.get(1));
        Collector collector = new Collector();
        Channel client = assertInstanceOf(Bootstrap.class, made.get(2))
                .handler(collector)
                .connect(address)
                .sync()
                .channel();
        client.writeAndFlush(Unpooled.copiedBuffer(TEXT, StandardCharsets.UTF_8));
        assertEquals(TEXT, collector.text.get(SECONDS, TimeUnit.SECONDS));
    }

    @Test
    void shouldMoveAGrpcServer() throws Exception {
        Server server = assertInstanceOf(
                        NettyServerBuilder.class, made("README.md").get(2))
                .addService(ServerServiceDefinition.builder("Test")
                        .addMethod(GrpcContract.UNARY, ServerCalls.asyncUnaryCall((request, response) -> {
                            response.onNext(request);
                            response.onCompleted();
                        }))
                        .build())
                .build()
                .start();
        ManagedChannel channel = NettyChannelBuilder.forAddress(address)
                .eventLoopGroup(group)
                .channelFactory(() -> new NioSocketChannel(RSocketProvider.instance()))
                .usePlaintext()
                .build();
        try {
            assertEquals(TEXT, ClientCalls.blockingUnaryCall(channel, GrpcContract.UNARY, CallOptions.DEFAULT, TEXT));
        } finally {
            channel.shutdownNow().awaitTermination(SECONDS, TimeUnit.SECONDS);
            server.shutdownNow().awaitTermination(SECONDS, TimeUnit.SECONDS);
        }
    }
}
