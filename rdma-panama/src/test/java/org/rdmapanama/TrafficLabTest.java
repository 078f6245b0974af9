package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.management.JMException;
import javax.management.JMX;
import javax.management.ObjectName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.counts.QueuePairCounts;
import org.rdmapanama.counts.QueuePairTraffic;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.internal.Traffic;
import org.rdmapanama.management.OpenQueuePair;
import org.rdmapanama.management.RdmaMXBean;
import org.rdmapanama.management.RdmaManagement;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/** What queue pairs have moved and what is under way, in processes that were started with the property. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TrafficLabTest {
    @Test
    void shouldCountNothingUnlessAsked() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            assertEquals(Optional.empty(), pair.a.queuePair.traffic());
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldCount(Case each) throws Exception {
        List<String> options = new ArrayList<>(List.of("-D" + Traffic.PROPERTY + "=true"));
        options.addAll(Program.sameProperties("org.rdmapanama.libibverbs"));
        try (Program program = Program.javaWith(options, TrafficLabTest.class, each.name())) {
            program.assertSucceeds();
        }
    }

    public static void main(String... arguments) throws JMException {
        Case.valueOf(arguments[0]).check();
        System.out.println("checked");
    }

    private static void assertTraffic(
            QueuePair queuePair, long posted, long received, long sends, long receives, long outstanding) {
        assertEquals(
                new QueuePairTraffic(posted, received, sends, receives, outstanding),
                queuePair.traffic().orElseThrow());
    }

    private enum Case {
        UNSIGNALED {
            @Override
            void check() {
                try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
                    QueuePair queuePair = pair.a.queuePair;
                    SendWorkRequest chain = pair.writeToB(1, 0, 8)
                            .signaled(false)
                            .next(pair.writeToB(2, 0, 16).signaled(false).next(pair.readFromB(3, 0, 24)));
                    pair.a.post(chain);
                    assertTraffic(queuePair, 48, 0, 0, 0, 3);
                    pair.a.await();
                    assertTraffic(queuePair, 48, 0, 1, 0, 0);
                    // Nothing tells whether it has ended.
                    pair.a.post(pair.writeToB(4, 0, 8).signaled(false));
                    assertTraffic(queuePair, 56, 0, 1, 0, 1);
                    queuePair.close();
                    assertTraffic(queuePair, 56, 0, 1, 0, 1);
                }
            }
        },
        MESSAGES {
            @Override
            void check() {
                try (ConnectedPair pair =
                        ConnectedPair.of(QueuePairType.RC).signalAll().open()) {
                    pair.b.post(pair.b.receiveRequest(1, 0, 64).next(pair.b.receiveRequest(2, 0, 64)));
                    assertTraffic(pair.b.queuePair, 0, 0, 0, 0, 2);
                    pair.a.post(pair.a.request(1, 0, 5).send().signaled(false));
                    pair.a.await();
                    pair.b.await();
                    assertTraffic(pair.a.queuePair, 5, 0, 1, 0, 0);
                    assertTraffic(pair.b.queuePair, 0, 5, 0, 1, 1);
                }
            }
        },
        DATAGRAMS {
            @Override
            void check() {
                try (ConnectedPair pair = ConnectedPair.open(QueuePairType.UD)) {
                    Endpoint peer = pair.b.queuePair.localEndpoint(LabDevices.connectOptions());
                    AddressHandle way = pair.a.domain.createAddressHandle(pair.a.queuePair.pathTo(peer));
                    pair.b.postReceive(1, 0, 100);
                    pair.a.post(pair.a.request(1, 0, 30).send().to(way, peer.queuePairNumber(), 0x1111_1111));
                    pair.a.await();
                    Completion received = pair.b.await();
                    assertTraffic(pair.a.queuePair, 30, 0, 1, 0, 0);
                    assertTraffic(pair.b.queuePair, 0, received.byteLength(), 0, 1, 0);
                }
            }
        },
        MANY {
            /** More than there is room for, so that places are used again. */
            private static final int TIMES = 1000;

            @Override
            void check() {
                try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
                    SendWorkRequest chain = pair.writeToB(1, 0, 8)
                            .signaled(false)
                            .next(pair.writeToB(2, 0, 8).next(pair.writeToB(3, 0, 8)));
                    for (int i = 1; i <= TIMES; i++) {
                        pair.a.post(chain);
                        assertEquals(3, pair.a.queuePair.traffic().orElseThrow().outstanding());
                        pair.a.await(2);
                        assertTraffic(pair.a.queuePair, 24L * i, 0, 2L * i, 0, 0);
                    }
                }
            }
        },
        FAILURES {
            @Override
            void check() {
                try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
                    QueuePair queuePair = pair.a.queuePair;
                    pair.a.postReceive(1, 0, 8);
                    pair.a.post(pair.a
                            .request(2, 0, 8)
                            .rdmaWrite(pair.b.region.address(), pair.b.region.rkey() ^ 0xff00)
                            .next(pair.writeToB(3, 0, 8).signaled(false)));
                    assertTraffic(queuePair, 16, 0, 0, 0, 3);
                    pair.a.await(3);
                    assertEquals(3, queuePair.counts().failedCompletions());
                    assertTraffic(queuePair, 16, 0, 0, 0, 0);
                    pair.b.postReceive(1, 0, 8);
                    assertTraffic(pair.b.queuePair, 0, 0, 0, 0, 1);
                    pair.b.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
                    assertTraffic(pair.b.queuePair, 0, 0, 0, 0, 0);
                }
            }
        },
        RESET {
            @Override
            void check() {
                try (ConnectedPair pair =
                        ConnectedPair.of(QueuePairType.RC).signalAll().open()) {
                    QueuePair queuePair = pair.a.queuePair;
                    pair.a.postReceive(1, 0, 8);
                    pair.a.post(pair.a
                            .request(2, 0, 8)
                            .rdmaWrite(pair.b.region.address(), pair.b.region.rkey() ^ 0xff00)
                            .next(pair.writeToB(3, 0, 8)));
                    pair.a.await(3);
                    queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
                    pair.b.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
                    Endpoint a = queuePair.localEndpoint(LabDevices.connectOptions());
                    queuePair.connect(pair.b.queuePair.localEndpoint(LabDevices.connectOptions()));
                    pair.b.queuePair.connect(a);
                    for (int i = 1; i <= 3; i++) {
                        pair.a.post(pair.writeToB(4, 0, 8));
                        assertTraffic(queuePair, 16 + 8 * i, 0, i - 1, 0, 1);
                        pair.a.await();
                        assertTraffic(queuePair, 16 + 8 * i, 0, i, 0, 0);
                    }
                }
            }
        },
        WRAPPED {
            @Override
            void check() {
                try (VerbsArena arena = VerbsArena.ofConfined()) {
                    Context context = Context.open(arena, LabDevices.first());
                    CompletionQueue queue = context.createCompletionQueue(16);
                    ProtectionDomain domain = context.allocateProtectionDomain();
                    MemoryRegion region = domain.register(arena.allocate(64, 8), AccessFlag.LOCAL_WRITE);
                    try (Arena temporary = Arena.ofConfined()) {
                        MemorySegment attributes = temporary.allocate(ibv_qp_init_attr_ex.layout());
                        new QueuePairOptions(QueuePairType.UD, queue)
                                .signalAll(true)
                                .write(attributes, domain.nativeAddress(), temporary);
                        long made = domain.provider.createQueuePair(domain.nativeAddress(), attributes.address());
                        QueuePair queuePair = QueuePair.ofNativeAddress(domain, queue, queue, made, Ownership.OWNED);
                        Endpoint own = queuePair.localEndpoint(LabDevices.connectOptions());
                        AddressHandle way = domain.createAddressHandle(queuePair.pathTo(own));
                        queuePair.activate();
                        queuePair.postSend(SendWorkRequest.allocate(arena, 1)
                                .send()
                                .signaled(false)
                                .add(region, 0, 8)
                                .to(way, own.queuePairNumber(), 0x1111_1111));
                        assertTraffic(queuePair, 8, 0, 0, 0, 1);
                        Completions.awaitAny(queue, new WorkCompletions(arena, 1));
                        assertTraffic(queuePair, 8, 0, 1, 0, 0);
                    }
                }
            }
        },
        FULL {
            @Override
            void check() {
                try (ConnectedPair pair =
                        ConnectedPair.of(QueuePairType.RC).queues(4, 4).open()) {
                    Side a = pair.a;
                    // Soft-RoCE takes more than it says.
                    int length = 4 * a.queuePair.capabilities().maxSendWorkRequests() + 4;
                    SendWorkRequest chain = pair.writeToB(0, 0, 8);
                    for (int i = 1; i < length; i++) {
                        chain = pair.writeToB(i, 0, 8).next(chain);
                    }
                    assertEquals(QueuePair.QUEUE_FULL, a.queuePair.tryPostSend(chain));
                    long posted = a.queuePair.counts().postedSends();
                    assertTraffic(a.queuePair, 8 * posted, 0, 0, 0, posted);
                    a.await((int) posted);
                    assertTraffic(a.queuePair, 8 * posted, 0, posted, 0, 0);
                }
            }
        },
        BATCHES {
            @Override
            void check() {
                try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                        .extended(SendOperation.RDMA_WRITE)
                        .inline(32)
                        .open()) {
                    long to = pair.b.region.address();
                    int key = pair.b.region.rkey();
                    pair.a
                            .batch()
                            .rdmaWrite(to, key)
                            .add(pair.a.region, 0, 8)
                            .rdmaWrite(to, key)
                            .inlineData(pair.a.memory.asSlice(0, 20))
                            .signaled(false)
                            .rdmaWrite(to, key)
                            .add(pair.a.region, 0, 150)
                            .add(pair.a.region, 0, 150)
                            .complete();
                    assertTraffic(pair.a.queuePair, 328, 0, 0, 0, 3);
                    pair.a.await(2);
                    pair.a.batch().rdmaWrite(to, key).add(pair.a.region, 0, 8).abort();
                    assertTraffic(pair.a.queuePair, 328, 0, 2, 0, 1);
                    pair.a.batch().rdmaWrite(to, key).add(pair.a.region, 0, 8).complete();
                    pair.a.await();
                    assertTraffic(pair.a.queuePair, 336, 0, 3, 0, 0);
                }
            }
        },
        CURSORS {
            @Override
            void check() {
                try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                        .extended(CompletionField.QP_NUM, CompletionField.BYTE_LEN)
                        .open()) {
                    pair.b.postReceive(1, 0, 64);
                    pair.a.post(pair.a.request(1, 0, 5).send());
                    pair.a.awaitBatch().close();
                    pair.b.awaitBatch().close();
                    assertTraffic(pair.a.queuePair, 5, 0, 1, 0, 0);
                    assertTraffic(pair.b.queuePair, 0, 5, 0, 1, 0);
                }
            }
        },
        MANAGEMENT {
            @Override
            void check() throws JMException {
                try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                        .in(VerbsArena.ofShared())
                        .open()) {
                    pair.a.post(pair.writeToB(1, 0, 8));
                    RdmaManagement.register();
                    RdmaMXBean bean = JMX.newMXBeanProxy(
                            ManagementFactory.getPlatformMBeanServer(),
                            new ObjectName(RdmaManagement.NAME),
                            RdmaMXBean.class);
                    assertTrue(bean.getQueuePairs()
                            .contains(new OpenQueuePair(
                                    pair.a.queuePair.toString(),
                                    new QueuePairCounts(1, 0, 0),
                                    new QueuePairTraffic(8, 0, 0, 0, 1),
                                    "")));
                }
            }
        };

        abstract void check() throws JMException;
    }
}
