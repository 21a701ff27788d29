def softmax(logits):
    return logits.softmax(axis=-1, out="nowhere")
