package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.SelectionKey;
import java.util.List;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.ffm.waiting.Interrupts;
import org.rdmapanama.ffm.waiting.Scene;
import org.rdmapanama.ffm.waiting.Stage;
import org.rdmapanama.ffm.waiting.WaitingCall;
import org.rdmapanama.testing.Lab;

/** Every call of rsocket channels and selectors that waits. */
public final class WaitingSockets {
    /** More than the two sides keep. */
    private static final int MUCH = 16 << 20;

    private WaitingSockets() {}

    public static List<WaitingCall> all() {
        return List.of(
                WaitingCall.closing("RServerSocketChannel.accept", WaitingSockets::accept),
                WaitingCall.closing("RSocketChannel.connect", WaitingSockets::connect)
                        .only(Interrupts.BEFORE, Interrupts.ONCE, Interrupts.AGAIN_AND_AGAIN),
                WaitingCall.closing("RSocketChannel.read", WaitingSockets::read),
                WaitingCall.closing("RSocketChannel.write", WaitingSockets::write),
                WaitingCall.returning("RSelector.select", WaitingSockets::select),
                WaitingCall.uninterruptible("RSocketChannel.close while another thread reads", WaitingSockets::close),
                WaitingCall.uninterruptible(
                        "RSelector.close while another thread selects", WaitingSockets::closeSelector));
    }

    private static Scene accept(Stage stage) throws Exception {
        RServerSocketChannel server = stage.keep(RServerSocketChannel.open());
        server.bind(Lab.freeAddress(Lab.SECOND_HOST));
        RSocketChannel client = stage.keep(RSocketChannel.open());
        return new Scene(() -> stage.keep(server.accept()), () -> Channels.Pair.connect(server, client))
                .checking(accepted -> assertNotNull(accepted));
    }

    /** The server does not answer. */
    private static Scene connect(Stage stage) throws Exception {
        VerbsArena arena = stage.keep(VerbsArena.ofShared());
        InetSocketAddress silent =
                RdmaServer.listen(arena, Lab.freeAddress(Lab.SECOND_HOST)).localAddress();
        RSocketChannel channel = stage.keep(RSocketChannel.open());
        return new Scene(() -> channel.connect(silent), () -> {});
    }

    private static Scene read(Stage stage) throws Exception {
        Channels.Pair pair = stage.keep(Channels.Pair.open());
        return new Scene(
                        () -> pair.client().read(ByteBuffer.allocate(8)),
                        () -> Channels.writeFully(pair.accepted(), ByteBuffer.allocate(3)))
                .checking(count -> assertEquals(3, count));
    }

    private static Scene write(Stage stage) throws Exception {
        Channels.Pair pair = stage.keep(Channels.Pair.open());
        return new Scene(
                        () -> pair.client().write(ByteBuffer.allocate(MUCH)),
                        () -> Channels.readFully(pair.accepted(), ByteBuffer.allocate(MUCH)))
                .checking(count -> assertEquals(MUCH, count));
    }

    private static Scene select(Stage stage) throws Exception {
        Channels.Pair pair = stage.keep(Channels.Pair.open());
        RSelector selector = stage.keep(RSelector.open());
        pair.client().configureBlocking(false);
        pair.client().register(selector, SelectionKey.OP_READ);
        return new Scene(selector::select, () -> Channels.writeFully(pair.accepted(), ByteBuffer.allocate(1)))
                .checking(count -> assertEquals(1, count));
    }

    private static Scene close(Stage stage) throws Exception {
        Channels.Pair pair = stage.keep(Channels.Pair.open());
        stage.start(
                "reading",
                () -> assertThrows(
                        AsynchronousCloseException.class, () -> pair.client().read(ByteBuffer.allocate(1))));
        return Scene.of(pair.client()::close, () -> {}).briefly();
    }

    private static Scene closeSelector(Stage stage) throws Exception {
        Channels.Pair pair = stage.keep(Channels.Pair.open());
        RSelector selector = stage.keep(RSelector.open());
        pair.client().configureBlocking(false);
        pair.client().register(selector, SelectionKey.OP_READ);
        stage.start("selecting", selector::select);
        return Scene.of(selector::close, () -> {}).briefly();
    }
}
