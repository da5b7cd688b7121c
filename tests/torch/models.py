"""The built-in models of `starling train` (docs/models.md) in PyTorch: the same modules under the same names."""

import torch
from torch import nn
from torch.nn.functional import max_pool2d, relu


class Mlp(nn.Module):
    def __init__(self, channels=1, height=28, width=28, classes=10):
        super().__init__()
        self.fc1 = nn.Linear(channels * height * width, 256)
        self.fc2 = nn.Linear(256, 128)
        self.fc3 = nn.Linear(128, classes)

    def forward(self, x):
        return self.fc3(relu(self.fc2(relu(self.fc1(x.flatten(1))))))


class Deep(nn.Module):
    def __init__(self, channels=1, height=28, width=28, classes=10):
        super().__init__()
        sizes = [channels * height * width] + 10 * [800]
        self.layers = nn.ModuleList(nn.Linear(before, after) for before, after in zip(sizes, sizes[1:]))
        self.fc = nn.Linear(800, classes)

    def forward(self, x):
        x = x.flatten(1)
        for layer in self.layers:
            x = relu(layer(x))
        return self.fc(x)


class LeNet(nn.Module):
    def __init__(self, channels=1, height=28, width=28, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * ((height // 2 - 4) // 2) * ((width // 2 - 4) // 2), 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def forward(self, x):
        x = max_pool2d(relu(self.conv1(x)), 2)
        x = max_pool2d(relu(self.conv2(x)), 2)
        return self.fc3(relu(self.fc2(relu(self.fc1(x.flatten(1))))))


class Cnn(nn.Module):
    def __init__(self, channels=1, height=28, width=28, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.fc1 = nn.Linear(64 * (height // 4) * (width // 4), 512)
        self.fc2 = nn.Linear(512, classes)

    def forward(self, x):
        x = max_pool2d(relu(self.conv1(x)), 2)
        x = max_pool2d(relu(self.conv2(x)), 2)
        return self.fc2(relu(self.fc1(x.flatten(1))))


class BasicBlock(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.shortcut = None
        if before != after:
            self.shortcut = nn.Conv2d(before, after, 1, stride=stride, bias=False)

    def forward(self, x):
        around = x if self.shortcut is None else self.shortcut(x)
        return relu(self.bn2(self.conv2(relu(self.bn1(self.conv1(x))))) + around)


class ResNet20(nn.Module):
    def __init__(self, channels=1, height=28, width=28, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        widths = [16, 16, 16, 16, 32, 32, 32, 64, 64, 64]
        self.blocks = nn.ModuleList(
            BasicBlock(before, after, 1 if before == after else 2) for before, after in zip(widths, widths[1:])
        )
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        x = relu(self.bn1(self.conv1(x)))
        for block in self.blocks:
            x = block(x)
        return self.fc(x.mean((2, 3)))


class CharLm(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.embedding = nn.Embedding(classes, 64)
        self.lstm = nn.LSTM(64, 128, batch_first=True)
        self.fc = nn.Linear(128, classes)

    def forward(self, x):
        return self.fc(self.lstm(self.embedding(x))[0]).flatten(0, 1)


MODELS = {"mlp": Mlp, "deep": Deep, "lenet": LeNet, "cnn": Cnn, "resnet20": ResNet20, "charlm": CharLm}


def from_pixels(pixels):
    """0 to 255 becomes -1 to 1; `pixels` is a tensor of bytes, pictures x channels x height x width."""
    return pixels.to(torch.float32) / 127.5 - 1
