package org.rdmapanama.flow;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.FlowActionEsp;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.verbs.ib_uverbs_flow_action_esp;
import org.rdmapanama.ffm.verbs.ib_uverbs_flow_action_esp_encap;
import org.rdmapanama.ffm.verbs.ib_uverbs_flow_action_esp_keymat_aes_gcm;
import org.rdmapanama.ffm.verbs.ib_uverbs_flow_action_esp_replay_bmp;
import org.rdmapanama.ffm.verbs.ibv_flow_action_esp_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/**
 * The options of a {@link FlowActionEsp}, {@code struct ibv_flow_action_esp_attr}.
 *
 * <p>{@snippet :
 * FlowActionEsp action = context.createFlowActionEsp(new FlowActionEspOptions()
 *         .securityParametersIndex(0x1234)
 *         .flags(EspFlag.ENCRYPT, EspFlag.TRANSPORT)
 *         .aesGcm(key, salt, iv, 16));
 * }
 *
 * <p>Options that are not set are not passed to the driver. Numbers are passed unchanged, in the byte order of this
 * machine. Threads: one at a time.
 */
public final class FlowActionEspOptions {
    private boolean hasAttributes;
    private int spi;
    private int sequence;
    private int trafficFlowPadding;
    private long hardLimitPackets;
    private final Set<EspFlag> flags = EnumSet.noneOf(EspFlag.class);

    private byte @Nullable [] key;
    private int salt;
    private long iv;
    private int icvLength;

    private int replayWindow = -1;
    private List<FlowFilter> encapsulation = List.of();
    private boolean hasEsn;
    private int esn;

    /** Creates options of which none is set. */
    public FlowActionEspOptions() {}

    /**
     * Sets the index of security parameters.
     *
     * @param index 32 bits
     * @return this
     */
    public FlowActionEspOptions securityParametersIndex(int index) {
        spi = index;
        hasAttributes = true;
        return this;
    }

    /**
     * Sets the sequence number.
     *
     * @param number 32 bits
     * @return this
     */
    public FlowActionEspOptions sequence(int number) {
        sequence = number;
        hasAttributes = true;
        return this;
    }

    /**
     * Sets how much padding hides the length of packets.
     *
     * @param bytes 32 bits, unsigned
     * @return this
     */
    public FlowActionEspOptions trafficFlowPadding(int bytes) {
        trafficFlowPadding = bytes;
        hasAttributes = true;
        return this;
    }

    /**
     * Sets the number of packets after which the key expires.
     *
     * @param packets 64 bits, unsigned
     * @return this
     */
    public FlowActionEspOptions hardLimitPackets(long packets) {
        hardLimitPackets = packets;
        hasAttributes = true;
        return this;
    }

    /**
     * Sets the flags.
     *
     * @param wanted the flags to set; all others are cleared
     * @return this
     * @throws NullPointerException when one is null
     */
    public FlowActionEspOptions flags(EspFlag... wanted) {
        List<EspFlag> given = List.of(wanted);
        flags.clear();
        flags.addAll(given);
        hasAttributes = true;
        return this;
    }

    /**
     * Sets the key material: AES in Galois counter mode, with the sequence number as initialization vector.
     *
     * @param aesKey 16, 24 or 32 bytes, which are copied
     * @param saltOfKey 32 bits
     * @param initializationVector the first one, 64 bits
     * @param icvBytes length of the integrity check value, in bytes: 8, 12 or 16
     * @return this
     * @throws IllegalArgumentException when the key or the check value has another length
     */
    public FlowActionEspOptions aesGcm(byte[] aesKey, int saltOfKey, long initializationVector, int icvBytes) {
        if (aesKey.length != 16 && aesKey.length != 24 && aesKey.length != 32) {
            throw new IllegalArgumentException("aesKey must have 16, 24 or 32 bytes: " + aesKey.length);
        }
        if (icvBytes != 8 && icvBytes != 12 && icvBytes != 16) {
            throw new IllegalArgumentException("icvBytes must be 8, 12 or 16: " + icvBytes);
        }
        key = aesKey.clone();
        salt = saltOfKey;
        iv = initializationVector;
        icvLength = icvBytes;
        return this;
    }

    /**
     * Sets the size of the window for replay protection, a bit map of received packets by which repeated ones are
     * dropped.
     *
     * @param size the size of the window, positive, in the unit of the driver
     * @return this
     * @throws IllegalArgumentException when it is not positive
     */
    public FlowActionEspOptions replayWindow(int size) {
        if (size < 1) {
            throw new IllegalArgumentException("size must be positive: " + size);
        }
        replayWindow = size;
        return this;
    }

    /**
     * Sets the outer headers of tunnel mode to the values of filters. Their masks are ignored.
     *
     * @param headers the headers, outermost first
     * @return this
     * @throws NullPointerException when one is null
     */
    public FlowActionEspOptions encapsulation(FlowFilter... headers) {
        encapsulation = List.of(headers);
        return this;
    }

    /**
     * Sets the upper half of the extended sequence number.
     *
     * @param upperHalf 32 bits
     * @return this
     */
    public FlowActionEspOptions extendedSequence(int upperHalf) {
        esn = upperHalf;
        hasEsn = true;
        return this;
    }

    /**
     * {@return the options as {@code ibv_create_flow_action_esp} takes them, in memory of their own, which the calling
     * thread must close}
     */
    public Native toNative() {
        return new Native(this);
    }

    /** Options as C structures. Closing them wipes the key and frees them. Confined to the thread that made them. */
    public static final class Native implements AutoCloseable {
        private final Arena memory = KnownMemory.ofConfined();
        private final MemorySegment attributes = memory.allocate(ibv_flow_action_esp_attr.layout());
        private MemorySegment keyMaterial = MemorySegment.NULL;

        private Native(FlowActionEspOptions options) {
            if (options.hasAttributes) {
                writeAttributes(options);
            }
            if (options.key != null) {
                writeKey(options, options.key);
            }
            if (options.replayWindow > 0) {
                MemorySegment replay = memory.allocate(ib_uverbs_flow_action_esp_replay_bmp.layout());
                ib_uverbs_flow_action_esp_replay_bmp.size(replay, options.replayWindow);
                ibv_flow_action_esp_attr.replay_proto(attributes, rdma_h.IBV_FLOW_ACTION_ESP_REPLAY_BMP());
                ibv_flow_action_esp_attr.replay_len(attributes, (short) replay.byteSize());
                ibv_flow_action_esp_attr.replay_ptr(attributes, replay);
            }
            writeEncapsulation(options.encapsulation);
            if (options.hasEsn) {
                ibv_flow_action_esp_attr.comp_mask(attributes, rdma_h.IBV_FLOW_ACTION_ESP_MASK_ESN());
                ibv_flow_action_esp_attr.esn(attributes, options.esn);
            }
        }

        private void writeAttributes(FlowActionEspOptions options) {
            MemorySegment esp = memory.allocate(ib_uverbs_flow_action_esp.layout());
            ib_uverbs_flow_action_esp.spi(esp, options.spi);
            ib_uverbs_flow_action_esp.seq(esp, options.sequence);
            ib_uverbs_flow_action_esp.tfc_pad(esp, options.trafficFlowPadding);
            ib_uverbs_flow_action_esp.flags(esp, Codes.mask(options.flags, EspFlag::code));
            ib_uverbs_flow_action_esp.hard_limit_pkts(esp, options.hardLimitPackets);
            ibv_flow_action_esp_attr.esp_attr(attributes, esp);
        }

        private void writeKey(FlowActionEspOptions options, byte[] key) {
            keyMaterial = memory.allocate(ib_uverbs_flow_action_esp_keymat_aes_gcm.layout());
            ib_uverbs_flow_action_esp_keymat_aes_gcm.iv(keyMaterial, options.iv);
            ib_uverbs_flow_action_esp_keymat_aes_gcm.iv_algo(keyMaterial, rdma_h.IBV_FLOW_ACTION_IV_ALGO_SEQ());
            ib_uverbs_flow_action_esp_keymat_aes_gcm.salt(keyMaterial, options.salt);
            ib_uverbs_flow_action_esp_keymat_aes_gcm.icv_len(keyMaterial, options.icvLength);
            ib_uverbs_flow_action_esp_keymat_aes_gcm.key_len(keyMaterial, key.length);
            MemorySegment.copy(
                    key, 0, ib_uverbs_flow_action_esp_keymat_aes_gcm.aes_key(keyMaterial), JAVA_BYTE, 0, key.length);
            ibv_flow_action_esp_attr.keymat_proto(attributes, rdma_h.IBV_FLOW_ACTION_ESP_KEYMAT_AES_GCM());
            ibv_flow_action_esp_attr.keymat_len(attributes, (short) keyMaterial.byteSize());
            ibv_flow_action_esp_attr.keymat_ptr(attributes, keyMaterial);
        }

        /** A list that is linked the headers, outermost first, and so made the other way round. */
        private void writeEncapsulation(List<FlowFilter> headers) {
            MemorySegment next = MemorySegment.NULL;
            for (FlowFilter header : headers.reversed()) {
                byte[] bytes = header.value();
                MemorySegment value = memory.allocate(bytes.length, Long.BYTES).copyFrom(MemorySegment.ofArray(bytes));
                MemorySegment element = memory.allocate(ib_uverbs_flow_action_esp_encap.layout());
                ib_uverbs_flow_action_esp_encap.val_ptr(element, value);
                ib_uverbs_flow_action_esp_encap.next_ptr(element, next);
                ib_uverbs_flow_action_esp_encap.len(element, (short) bytes.length);
                ib_uverbs_flow_action_esp_encap.type(element, (short) header.type());
                next = element;
            }
            ibv_flow_action_esp_attr.esp_encap(attributes, next);
        }

        /** {@return the address of the {@code struct ibv_flow_action_esp_attr}} */
        public long address() {
            return attributes.address();
        }

        /** What it is for. */
        @Override
        public String toString() {
            return "attributes of an ESP action, for the driver";
        }

        /** Wipes the key and frees the structures. */
        @Override
        public void close() {
            keyMaterial.fill((byte) 0);
            memory.close();
        }
    }

    /** The options that are set, without the key. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("ESP");
        if (hasAttributes) {
            text.append(" SPI 0x").append(Integer.toHexString(spi));
            text.append(", sequence ").append(Integer.toUnsignedString(sequence));
            text.append(", padding ").append(Integer.toUnsignedString(trafficFlowPadding));
            text.append(", at most ")
                    .append(Long.toUnsignedString(hardLimitPackets))
                    .append(" packets");
            text.append(", flags ").append(flags);
        }
        if (key != null) {
            text.append(", AES-GCM with a key of ").append(key.length).append(" bytes");
        }
        if (replayWindow > 0) {
            text.append(", replay window ").append(replayWindow);
        }
        if (!encapsulation.isEmpty()) {
            text.append(", encapsulated in ").append(encapsulation);
        }
        if (hasEsn) {
            text.append(", extended sequence ").append(Integer.toUnsignedString(esn));
        }
        return text.toString();
    }
}
