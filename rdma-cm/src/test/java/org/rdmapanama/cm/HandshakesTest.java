package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmapanama.ffm.internal.Errno;

/** What is said of whether a caller that accepts has something to do. */
class HandshakesTest {
    private final List<Boolean> told = new ArrayList<>();
    private final Handshakes handshakes = new Handshakes(new RdmaServerOptions(), told::add);

    private static Handshakes.Failed failed() {
        return new Handshakes.Failed(null, CmFailures.of("rdma_accept", -Errno.ENODEV, "a test"));
    }

    @Test
    void shouldTellOfWorkAndOfItsEnd() {
        handshakes.putBack(failed());
        assertEquals(List.of(true), told);
        handshakes.takeFailed();
        assertEquals(List.of(true, false), told);
    }

    /** A loop over the events of a server would be busy for ever: nobody does the work any more. */
    @Test
    void shouldTellOfNoWorkOnceTheServerHasClosed() {
        handshakes.putBack(failed());
        handshakes.close();
        assertEquals(List.of(true, false), told);
    }

    /** The same, where each call that accepts says that the device has gone. */
    @Test
    void shouldTellOfNoWorkOnceTheDeviceHasGone() {
        handshakes.putBack(failed());
        handshakes.stop();
        assertEquals(List.of(true, false), told);
        handshakes.putBack(failed());
        assertEquals(List.of(true, false), told);
    }

    /** A connection that cannot be closed holds up nobody, and is closed again with the server. */
    @Test
    void shouldCloseLaterWhatCannotBeClosed() {
        handshakes.closeLater(failed());
        assertEquals(List.of(), told);
        assertEquals(0, handshakes.count());
        assertEquals(1, handshakes.close().size());
    }
}
