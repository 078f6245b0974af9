package org.rdmapanama.soft;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_ah;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.soft.memory.NativeBlock;
import org.rdmapanama.soft.net.ReplyAddress;

/**
 * The verbs of address handles. {@link SoftContext} forwards the calls of the program, on any thread; each method takes
 * the lock of the device itself.
 */
final class AddressHandleVerbs {
    private final SoftContext context;
    private final SoftDevice device;

    AddressHandleVerbs(SoftContext context) {
        this.context = context;
        device = context.device();
    }

    long createAddressHandle(long protectionDomain, long attributes) {
        MemorySegment attr = Native.struct(attributes, ibv_ah_attr.layout());
        device.lock();
        try {
            int refused = QueuePairFields.checkAddress(attr, device, true);
            if (refused != 0) {
                return -refused;
            }
            SoftProtectionDomain domain = context.memory().domain(protectionDomain);
            SoftAddressHandle made = device.addressHandles.make(
                    ibv_ah.sizeof(), (struct, number) -> device.route(struct, number, domain.number, attr));
            NativeBlock block = made.struct;
            domain.users++;
            MemorySegment handle = Native.struct(block.address(), ibv_ah.layout());
            ibv_ah.context(handle, MemorySegment.ofAddress(context.address()));
            ibv_ah.pd(handle, MemorySegment.ofAddress(protectionDomain));
            ibv_ah.handle(handle, made.number);
            return block.address();
        } finally {
            device.unlock();
        }
    }

    int initAddressFromCompletion(int port, long completion, long grh, long attributes) {
        return ReplyAddress.write(port, grh, attributes, device.addresses());
    }

    long createAddressHandleFromCompletion(long protectionDomain, long completion, long grh, int port) {
        NativeBlock attributes = new NativeBlock(ibv_ah_attr.sizeof());
        try {
            int result = initAddressFromCompletion(port, completion, grh, attributes.address());
            return result < 0 ? result : createAddressHandle(protectionDomain, attributes.address());
        } finally {
            attributes.free();
        }
    }

    int destroyAddressHandle(long addressHandle) {
        device.lock();
        try {
            MemorySegment handle = Native.struct(addressHandle, ibv_ah.layout());
            SoftProtectionDomain domain =
                    context.memory().domain(ibv_ah.pd(handle).address());
            SoftAddressHandle address = device.addressHandles.get(device.handleOf(addressHandle));
            device.addressHandles.remove(address.number);
            domain.users--;
            address.struct.free();
            return 0;
        } finally {
            device.unlock();
        }
    }
}
