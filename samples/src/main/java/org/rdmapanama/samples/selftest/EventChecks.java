package org.rdmapanama.samples.selftest;

import java.time.Duration;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.completion.CompletionOpcode;

/** Completion events, which wake programs that sleep. */
final class EventChecks {
    private static final int ROUNDS = 20;
    private static final int BYTES = 8;

    private final Subject subject;
    private final TestedTransport transport;
    private final SelftestReport report;
    private final Way way;

    EventChecks(Subject subject, SelftestReport report, TestedTransport transport, Way way) {
        this.subject = subject;
        this.transport = transport;
        this.report = report;
        this.way = way;
    }

    void run() throws InterruptedException {
        check("event for any completion", loopback -> awaitEvent(loopback, false));
        if (hasSolicited()) {
            check("event for a solicited completion", loopback -> awaitEvent(loopback, true));
        }
        check("wait without polling", this::await);
    }

    /** One message that wakes B. */
    private interface Round {
        void run(Loopback loopback) throws CheckFailure, InterruptedException;
    }

    private void check(String name, Round round) throws InterruptedException {
        report.check(way, transport + " SEND, " + name, BYTES + ", " + ROUNDS + " times", () -> {
            try (Loopback loopback =
                    new Loopback.Options(subject, transport, way).events().open()) {
                for (int i = 0; i < ROUNDS; i++) {
                    loopback.b.postReceive(2, 0, BYTES);
                    round.run(loopback);
                    loopback.a.expect(1, CompletionOpcode.SEND);
                }
            }
        });
    }

    /** EFA knows no solicited completions, and refuses requests that ask for them. */
    private boolean hasSolicited() {
        return transport != TestedTransport.SRD;
    }

    private void send(Loopback loopback) {
        loopback.post(loopback.a.request(1, 0, BYTES).send().solicited(hasSolicited()));
    }

    private void awaitEvent(Loopback loopback, boolean solicitedOnly) throws CheckFailure, InterruptedException {
        End b = loopback.b;
        b.queue.requestNotification(solicitedOnly);
        send(loopback);
        CompletionQueue told = b.channel.await(subject.limit());
        if (told != b.queue) {
            throw new CheckFailure("event at B", b.queue, told == null ? "none in time" : told);
        }
        b.expect(2, CompletionOpcode.RECV);
    }

    private void await(Loopback loopback) throws CheckFailure, InterruptedException {
        send(loopback);
        if (loopback.b.queue.await(loopback.b.completions, subject.limit(), Duration.ZERO) == 0) {
            throw new CheckFailure("wait at B", "a completion", "none in time");
        }
        loopback.b.is(2, CompletionOpcode.RECV);
    }
}
