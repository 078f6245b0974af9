package com.example.trial;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/** What the flight recording of the server tells of its connections. */
final class Recording {
    private static final String PREFIX = "org.rdmapanama.";
    private static final String BY_PEER = "the peer has ended it";

    /** The status with which the text of a failed queue pair begins. */
    private static final Pattern STATUS = Pattern.compile("^[A-Z_]+");

    private final Map<String, Integer> events = new TreeMap<>();
    private final Map<String, Integer> reasons = new TreeMap<>();
    private int made;

    private Recording() {}

    static Recording read(Path file) throws IOException {
        Recording recording = new Recording();
        try (RecordingFile all = new RecordingFile(file)) {
            while (all.hasMoreEvents()) {
                recording.take(all.readEvent());
            }
        }
        return recording;
    }

    private void take(RecordedEvent event) {
        String name = event.getEventType().getName();
        if (!name.startsWith(PREFIX)) {
            return;
        }
        events.merge(name.substring(PREFIX.length()), 1, Integer::sum);
        if (name.endsWith(".ConnectionMade")) {
            made++;
        } else if (name.endsWith(".ConnectionLost")) {
            String reason = event.getString("reason");
            Matcher status = STATUS.matcher(reason);
            reasons.merge(status.find() ? status.group() : reason, 1, Integer::sum);
        }
    }

    /** How many events of each kind there are. */
    Map<String, Integer> events() {
        return events;
    }

    /** How many connections ended for each reason, but for those that the server ended itself. */
    Map<String, Integer> reasons() {
        return reasons;
    }

    int made() {
        return made;
    }

    /** How many connections ended in another way than by the peer. */
    int lost() {
        return reasons.values().stream().mapToInt(Integer::intValue).sum() - reasons.getOrDefault(BY_PEER, 0);
    }

    int endedByPeer() {
        return reasons.getOrDefault(BY_PEER, 0);
    }
}
