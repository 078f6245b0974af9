/**
 * RDMA verbs: devices, protection domains, memory regions, queue pairs and completion queues.
 *
 * <p>Remote direct memory access lets a network device read and write the memory of a program, and of its peer, without
 * the kernel and, for one-sided operations, without the peer's processor. In the order in which a program meets them:
 *
 * <ol>
 *   <li>A {@link org.rdmapanama.VerbsArena} owns memory and everything below, and closes it in the right order.
 *   <li>A {@link org.rdmapanama.Context} is an open device. Its ports have addresses: GIDs, and on InfiniBand LIDs.
 *   <li>A {@link org.rdmapanama.ProtectionDomain} groups the objects that may be used together.
 *   <li>A {@link org.rdmapanama.MemoryRegion} is memory that the device may use. Work requests of this side name it by
 *       its lkey; a peer that reads or writes it needs its address and its rkey.
 *   <li>A {@link org.rdmapanama.CompletionQueue} is where finished work is reported.
 *   <li>A {@link org.rdmapanama.QueuePair} has a send queue and a receive queue. Two of them are
 *       {@link org.rdmapanama.QueuePair#connect connected}, each with the {@link org.rdmapanama.address.Endpoint} of the other.
 *   <li>{@link org.rdmapanama.SendWorkRequest} and {@link org.rdmapanama.ReceiveWorkRequest} say what to do. They are
 *       posted, and the call returns at once; {@link org.rdmapanama.WorkCompletions} report when it is done, and with
 *       which result.
 * </ol>
 *
 * <p>A SEND goes into a receive that the peer has posted before, and waits if there is none. An RDMA WRITE, an RDMA
 * READ or an atomic needs no receive, and the peer's program does not notice it.
 *
 * <p>Calls that wait, or are rare, return an {@link java.util.Optional} where nothing may have come. Calls of the data
 * path return null or a constant instead, to leave no garbage. Where a full queue or pool is a failure, the short name
 * throws, and a method whose name begins with {@code try} returns null or a constant.
 */
@NullMarked
package org.rdmapanama;

import org.jspecify.annotations.NullMarked;
