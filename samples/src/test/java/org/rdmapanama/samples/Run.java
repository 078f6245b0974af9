package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.testing.Bound;
import picocli.CommandLine;

/** A command that runs in a thread of this JVM, and its output. */
public final class Run {
    private static final Duration LIMIT = Duration.ofSeconds(60);

    // Their buffers are synchronized.
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private final String[] arguments;
    private final Thread thread;
    private volatile int status = -1;

    private Run(String... arguments) {
        this.arguments = arguments;
        thread = Thread.ofPlatform().daemon().name("rdma").unstarted(this::execute);
    }

    public static Run start(String... arguments) {
        Run run = new Run(arguments);
        run.thread.start();
        return run;
    }

    /** The program's commands, and those that exist in tests only. */
    static CommandLine commandLine(String... arguments) {
        List<Class<?>> commands = new ArrayList<>(Rdma.COMMANDS);
        commands.add(EverySizeCommand.class);
        return Rdma.commandLine(commands, arguments);
    }

    private void execute() {
        String[] words = Rdma.helpAsOption(arguments);
        CommandLine commandLine = commandLine(words);
        commandLine.setOut(new PrintWriter(out, true));
        commandLine.setErr(new PrintWriter(err, true));
        status = commandLine.execute(words);
    }

    /** Interrupts the thread of the command, as Ctrl-C does. */
    public void interrupt() {
        thread.interrupt();
    }

    /** Waits until a text was printed to either output. */
    public void await(String text) throws InterruptedException {
        await(text, LIMIT);
    }

    /** Waits longer than usual until a text was printed to either output. */
    public void await(String text, Duration limit) throws InterruptedException {
        Bound bound = Bound.of(limit);
        while (!out().contains(text) && !err().contains(text)) {
            assertTrue(thread.isAlive(), () -> "ended without saying '" + text + "': " + this);
            bound.check(() -> "never said '" + text + "': " + this);
            Thread.sleep(10);
        }
    }

    /** Waits until the command ends, and returns its status. */
    public int join() throws InterruptedException {
        return join(LIMIT);
    }

    /** Waits longer than usual until the command ends, and returns its status. */
    public int join(Duration limit) throws InterruptedException {
        thread.join(Duration.ofSeconds(Bound.patient((int) limit.toSeconds())));
        assertTrue(!thread.isAlive(), () -> "did not end: " + this);
        return status;
    }

    public String out() {
        return out.toString();
    }

    public String err() {
        return err.toString();
    }

    @Override
    public String toString() {
        return "rdma " + String.join(" ", arguments) + " -> " + status + "\n" + out + err;
    }
}
