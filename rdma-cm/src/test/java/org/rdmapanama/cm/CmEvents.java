package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import org.rdmapanama.testing.Lab;

/** Waits for events of the connection manager, in a bounded time. */
final class CmEvents {
    private CmEvents() {}

    /** The next event, which must be of this type. */
    static CmEvent await(EventChannel channel, CmEventType type) throws InterruptedException {
        CmEvent event = channel.await(Lab.SECONDS).orElse(null);
        if (event == null) {
            return fail("no event, but " + type + " was to come");
        }
        assertEquals(type, event.type(), event::toString);
        return event;
    }
}
