package org.rdmapanama.testing;

import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/** Records events of one name with JDK Flight Recorder, however short they are, from its creation until they are taken. */
public final class Flight implements AutoCloseable {
    private final Recording recording = new Recording();
    private final String name;

    /** Records the events of a name, which begins with org.rdmapanama. */
    public Flight(String nameBehindPrefix) {
        name = "org.rdmapanama." + nameBehindPrefix;
        recording.enable(name).withThreshold(Duration.ZERO);
        recording.start();
    }

    /** Ends the recording. Returns the events, of which there must be one. */
    public List<RecordedEvent> events() throws IOException {
        List<RecordedEvent> all = eventsOrNone();
        assertFalse(all.isEmpty(), name);
        return all;
    }

    /** Ends the recording. Returns the events. */
    public List<RecordedEvent> eventsOrNone() throws IOException {
        recording.stop();
        Path file = Files.createTempFile("flight", ".jfr");
        try {
            recording.dump(file);
            return RecordingFile.readAllEvents(file).stream()
                    .filter(each -> each.getEventType().getName().equals(name))
                    .toList();
        } finally {
            Files.delete(file);
        }
    }

    /** Ends the recording. Returns the only event. */
    public RecordedEvent only() throws IOException {
        List<RecordedEvent> all = events();
        if (all.size() > 1) {
            throw new AssertionError("more than one: " + all);
        }
        return all.getFirst();
    }

    @Override
    public void close() {
        recording.close();
    }
}
