package org.rdmapanama.samples.top;

import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import com.sun.tools.attach.VirtualMachineDescriptor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.management.JMX;
import javax.management.MBeanServerConnection;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import org.rdmapanama.management.RdmaMXBean;
import org.rdmapanama.management.RdmaManagement;

/**
 * The JVMs of this user on this machine that show what they do with RDMA. Each one is asked whether it does. That starts the
 * agent for local management in those that do, and a thread for such questions in all of them. One that does not, or does not
 * answer, is asked again later: it may do so by then.
 */
final class WatchedJvms implements AutoCloseable {
    /** How long a JVM that is stopped, for example, holds this up. */
    private static final long ATTACH_MILLIS = 2000;

    /** How soon one is asked again at first; each pause is twice the one before. */
    private static final Duration FIRST_PAUSE = Duration.ofSeconds(2);

    /** The longest pause: asking one that is stopped holds this up. */
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(32);

    private static final ObjectName BEAN = bean();

    /** A process that has the bean. */
    record Watched(long pid, RdmaMXBean bean, JMXConnector connector) {}

    /**
     * When one is asked again that has no bean, or has not answered.
     *
     * @param nanos by System.nanoTime()
     * @param pause how long it was left alone
     */
    private record Later(long nanos, Duration pause) {}

    /**
     * What a process answers.
     *
     * @param wants whether it is to have a bean
     * @param found what it has
     */
    private record Answer(boolean wants, Optional<Watched> found) {}

    private final Map<Long, Watched> watched = new HashMap<>();
    private final Map<Long, Later> others = new HashMap<>();

    /** The questions that have no answer yet: a process that is stopped may answer when it goes on. */
    private final Map<Long, FutureTask<Answer>> asking = new HashMap<>();

    WatchedJvms() {
        setIfMissing("sun.tools.attach.attachTimeout");
        // Of each call of a bean, and of the connection that RMI opens when a call has failed. RMI reads both once,
        // when it
        // begins.
        setIfMissing("sun.rmi.transport.tcp.responseTimeout");
        setIfMissing("sun.rmi.transport.tcp.handshakeTimeout");
    }

    private static void setIfMissing(String property) {
        if (System.getProperty(property) == null) {
            System.setProperty(property, Long.toString(ATTACH_MILLIS));
        }
    }

    /** Returns those that there are now. */
    List<Watched> find() {
        Set<Long> present = new HashSet<>();
        for (VirtualMachineDescriptor each : VirtualMachine.list()) {
            long pid = Long.parseLong(each.id());
            present.add(pid);
            Later later = others.get(pid);
            if (!watched.containsKey(pid) && (later == null || System.nanoTime() - later.nanos >= 0)) {
                ask(each, pid);
            }
        }
        others.keySet().retainAll(present);
        asking.keySet().retainAll(present);
        for (Watched each : List.copyOf(watched.values())) {
            if (!present.contains(each.pid())) {
                watched.remove(each.pid());
                close(each.connector());
            }
        }
        return new ArrayList<>(watched.values());
    }

    private static ObjectName bean() {
        try {
            return new ObjectName(RdmaManagement.NAME);
        } catch (MalformedObjectNameException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Stops watching one that does not answer any more, for a while. */
    void forget(Watched silent) {
        watched.remove(silent.pid());
        close(silent.connector());
        askLater(silent.pid());
    }

    private void askLater(long pid) {
        Later before = others.get(pid);
        Duration pause = before == null ? FIRST_PAUSE : before.pause.multipliedBy(2);
        if (pause.compareTo(LONGEST_PAUSE) > 0) {
            pause = LONGEST_PAUSE;
        }
        others.put(pid, new Later(System.nanoTime() + pause.toNanos(), pause));
    }

    /** Closes a connection. In another thread, because one to a process that is stopped takes long to close. */
    private static void close(JMXConnector connector) {
        Thread.ofPlatform().daemon().name("close").start(() -> {
            try {
                connector.close();
            } catch (IOException e) {
                // The process has ended.
            }
        });
    }

    /** Whether it is of this user, not in a container of its own, and not this process itself. */
    private static boolean isAnother(long pid) {
        Path other = Path.of("/proc", Long.toString(pid));
        Path own = Path.of("/proc/self");
        try {
            return pid != ProcessHandle.current().pid()
                    && Files.getOwner(other).equals(Files.getOwner(own))
                    && Files.readSymbolicLink(other.resolve("ns/pid"))
                            .equals(Files.readSymbolicLink(own.resolve("ns/pid")));
        } catch (IOException gone) {
            return false;
        }
    }

    /** Asks a process whether it has a bean. One that is to have it and has opened no device yet is asked again at once. */
    private void ask(VirtualMachineDescriptor descriptor, long pid) {
        FutureTask<Answer> question = asking.computeIfAbsent(pid, ignored -> begin(descriptor, pid));
        try {
            Answer answer = question.get(ATTACH_MILLIS, TimeUnit.MILLISECONDS);
            asking.remove(pid);
            answer.found().ifPresent(each -> watched.put(pid, each));
            if (answer.wants()) {
                others.remove(pid);
                return;
            }
        } catch (ExecutionException gone) {
            // It has ended, or cannot be asked.
            asking.remove(pid);
        } catch (TimeoutException silent) {
            // The question stays.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return;
        }
        askLater(pid);
    }

    /** Asks in another thread, because the JDK waits without a limit for the answer of a process that takes questions. */
    private static FutureTask<Answer> begin(VirtualMachineDescriptor descriptor, long pid) {
        FutureTask<Answer> question = new FutureTask<>(() -> answer(descriptor, pid));
        Thread.ofPlatform().daemon().name("ask " + pid).start(question);
        return question;
    }

    @SuppressWarnings("BanJNDI") // the address is that of a process of the same user, and no name is looked up
    private static Answer answer(VirtualMachineDescriptor descriptor, long pid)
            throws AttachNotSupportedException, IOException {
        if (!isAnother(pid)) {
            return new Answer(false, Optional.empty());
        }
        VirtualMachine machine = VirtualMachine.attach(descriptor);
        try {
            if (!Boolean.parseBoolean(machine.getSystemProperties().getProperty(RdmaManagement.PROPERTY))) {
                return new Answer(false, Optional.empty());
            }
            String address = machine.startLocalManagementAgent();
            return new Answer(true, watch(pid, JMXConnectorFactory.connect(new JMXServiceURL(address))));
        } finally {
            machine.detach();
        }
    }

    /** Returns the bean, if there is one yet. */
    private static Optional<Watched> watch(long pid, JMXConnector connector) throws IOException {
        boolean found = false;
        try {
            MBeanServerConnection server = connector.getMBeanServerConnection();
            found = server.isRegistered(BEAN);
            return found
                    ? Optional.of(new Watched(pid, JMX.newMXBeanProxy(server, BEAN, RdmaMXBean.class), connector))
                    : Optional.empty();
        } finally {
            if (!found) {
                close(connector);
            }
        }
    }

    @Override
    public void close() {
        for (Watched each : watched.values()) {
            close(each.connector());
        }
    }
}
