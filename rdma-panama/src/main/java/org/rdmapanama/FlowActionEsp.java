package org.rdmapanama;

import com.google.errorprone.annotations.CheckReturnValue;
import org.rdmapanama.flow.FlowActionEspOptions;
import org.rdmapanama.flow.FlowRule;
import org.rdmapanama.flow.FlowSpecification;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * An action that encrypts or decrypts IPsec packets, {@code struct ibv_flow_action}. It applies to the packets that
 * match a {@link FlowRule} with a {@link FlowSpecification.Apply} of it.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread.
 */
public final class FlowActionEsp extends ContextObject {
    static final Ending ENDING = new Ending("ibv_destroy_flow_action", ProviderContext::destroyFlowAction);

    private static final String CAPABILITY =
            "a driver with IPsec, such as mlx5 on some devices and kernels; no DeviceCapability shows it, only this call";

    private FlowActionEsp(Context context, long address) {
        super(context, address, context);
    }

    static FlowActionEsp create(Context context, FlowActionEspOptions options) {
        try (FlowActionEspOptions.Native struct = options.toNative()) {
            return context.create(
                    new Creation("ibv_create_flow_action_esp", ENDING)
                            .arguments(options::toString)
                            .capability(CAPABILITY),
                    () -> context.provider().createFlowActionEsp(struct.address()),
                    action -> new FlowActionEsp(context, action));
        }
    }

    /**
     * Wraps an action that other code in this process has created.
     *
     * @param context the open device on which it was created
     * @param nativeAddress address of the {@code struct ibv_flow_action}
     * @param ownership whether closing this object destroys the native one
     * @return the action
     * @throws IllegalArgumentException when the address is 0 or already has a Java object
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     */
    @CheckReturnValue
    public static FlowActionEsp ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(nativeAddress, ownership, action -> new FlowActionEsp(context, action));
    }

    /**
     * Changes the action, for example the upper half of the sequence number; the verb is {@code
     * ibv_modify_flow_action_esp}.
     *
     * @param options what to change; what is not set stays as it is
     * @throws NullPointerException when it is null
     * @throws VerbsException when the verb fails
     * @throws UnsupportedVerbException when the device does not support it
     * @throws IllegalStateException when this is closed
     *
     * @verb ibv_modify_flow_action_esp
     */
    public void modify(FlowActionEspOptions options) {
        try (FlowActionEspOptions.Native struct = options.toNative()) {
            enter();
            try {
                context.check(
                        "ibv_modify_flow_action_esp",
                        provider.modifyFlowActionEsp(address, struct.address()),
                        options.toString(),
                        CAPABILITY);
            } finally {
                exit();
            }
        }
    }

    @Override
    Ending ending() {
        return ENDING;
    }

    @Override
    int closingOrder() {
        return 3;
    }

    /** The device. */
    @Override
    public String toString() {
        return "ESP flow action of " + context;
    }
}
